"""What will happen: from a spec and an observation to frozen stages; pure."""
