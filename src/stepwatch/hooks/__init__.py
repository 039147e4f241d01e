"""What attaches to a framework; one room each, and nothing else imports a framework."""
