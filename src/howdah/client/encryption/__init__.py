"""Files in encryption zones: keys from key servers, and streams of cipher text as plain ones."""
