// Package config reads the configuration file.
//
// The file is YAML and read strictly: unknown and repeated keys are errors, every mistake is reported at once with file,
// line and key, and no mistake is reported with a secret in it.
//
// Values, not keys, may hold references, which are replaced after the YAML was parsed, so that what they bring can
// contain any character:
//
//	${VAR}             the environment variable VAR; it is an error when it is not set
//	${VAR:-default}    VAR, or default when it is not set or empty
//	${file:/path}      the content of the file at an absolute path, without the line break at its end
//	$${                a literal ${
//
// A dollar sign without a brace means itself. What a reference brings is not searched for further references.
//
// docs/config.example.yaml holds every key with its meaning and default.
package config
