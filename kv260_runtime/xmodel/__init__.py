"""XModel files: the XIR graph, read and written without the vendor library."""
