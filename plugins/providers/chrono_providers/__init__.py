"""Providers of models for chrono's recorder, one module each. The protocol they fill is `chrono.record.provider`."""
