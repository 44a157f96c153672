package restcatalog

// Access is what the catalog hands out with a table for the access to its files.
type Access struct {
	Config map[string]string
	// Credentials by prefix of locations.
	Credentials map[string]map[string]string
}

// access is what comes with a table that is loaded now. The caller holds the lock.
func (s *Server) access() Access {
	s.loads++
	if s.options.Vend != nil {
		return s.options.Vend(s.loads)
	}
	return Access{Config: s.options.Config}
}

// storageCredentials puts credentials into the form of the REST specification.
func (a Access) storageCredentials() []map[string]any {
	var out []map[string]any
	for prefix, config := range a.Credentials {
		out = append(out, map[string]any{"prefix": prefix, "config": config})
	}
	return out
}
