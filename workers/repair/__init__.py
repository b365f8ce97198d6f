"""The embedded repair engine: reproduce, localise, propose, validate, prove. It needs no model."""
