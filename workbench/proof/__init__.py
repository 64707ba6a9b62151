"""What a task's cases come to together: verdicts, what to run next, receipts, history."""
