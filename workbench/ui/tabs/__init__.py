"""What there is to know of one run, a tab each. A tab is loaded when it is first shown."""
