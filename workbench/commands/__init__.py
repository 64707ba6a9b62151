"""What commands print that need more than a few lines and belong to no face."""
