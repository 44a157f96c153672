// Package restcatalog is an Iceberg REST catalog on loopback for tests. It keeps names in memory and metadata files in a
// store, hands out OAuth2 tokens, checks requirements and applies updates with iceberg-go, and breaks replies on demand.
package restcatalog
