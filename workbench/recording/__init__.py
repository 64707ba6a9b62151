"""Sessions kept as files: written while they last, read again, played, and made fit to be shown to others."""
