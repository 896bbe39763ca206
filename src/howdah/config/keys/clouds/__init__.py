"""Keys of object stores of Azure's and Google's, by Hadoop's names."""
