"""Composition: each verb is a commit and an audit record."""
