"""Bytes of foreign formats: HFile, bloom filter, Avro, Java properties."""
