"""Where things run: machines, their states, and the providers that make them."""
