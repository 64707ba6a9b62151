"""What holds of every machine, whoever runs it: `driver` runs this as one user, `test_contract` as all."""
