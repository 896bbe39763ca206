"""Files that `-text` shows as text: compressed ones, Avro's and SequenceFiles."""
