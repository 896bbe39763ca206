"""What is known of the names of keys, whoever reads them: how they are spelt, which are secret."""
