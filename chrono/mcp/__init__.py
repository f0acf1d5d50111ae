"""The MCP server: what chrono does, as tools of the Model Context Protocol. Needs the extra `mcp`."""
