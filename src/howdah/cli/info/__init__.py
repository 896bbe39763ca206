"""Commands that look one thing up and print it: the groups of users, a class path."""
