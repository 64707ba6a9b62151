"""What has to be proven: one file a kind of case, and how a run is judged against it."""
