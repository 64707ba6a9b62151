"""Pictures and asciicasts of recordings, from the terminal face driven without a terminal."""
