"""The emulator by Ghostty's terminal core, libghostty-vt."""
