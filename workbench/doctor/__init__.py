"""What this host offers: who can make machines, who can build images, and how to get more."""
