"""What tests of Spark's tables share."""
