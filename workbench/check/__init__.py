"""The headless face: replay every case once and end with a verdict, for CI and reviewers."""
