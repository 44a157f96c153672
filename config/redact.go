package config

import (
	"strings"
)

// masked stands for a secret.
const masked = "xxxxx"

// Redact returns text with the passwords of the URLs in it masked: user information, and parameters whose names look
// secret. Use it for anything that goes to a log, an error or a page.
func Redact(text string) string {
	var out strings.Builder
	for {
		i := strings.Index(text, "://")
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:i+3])
		rest := text[i+3:]
		end := strings.IndexAny(rest, " \t\r\n\"'`<>")
		if end < 0 {
			end = len(rest)
		}
		if namesContainer(out.String()) {
			out.WriteString(redactParameters(rest[:end]))
		} else {
			out.WriteString(redactAfterScheme(rest[:end]))
		}
		text = rest[end:]
	}
}

// namesContainer tells whether text ends with a scheme in which a container, and no user, is before the @.
func namesContainer(text string) bool {
	for _, scheme := range []string{"abfs", "abfss", "wasb", "wasbs"} {
		if strings.HasSuffix(text, scheme+"://") {
			return true
		}
	}
	return false
}

// redactAfterScheme masks the part of a URL after "://". It does not parse it, so that a password with a character that
// should have been escaped does not come through; rather too much is masked.
func redactAfterScheme(rest string) string {
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return redactParameters(rest)
	}
	user, _, hasPassword := strings.Cut(rest[:at], ":")
	switch {
	case hasPassword:
		return redactParameters(user) + ":" + masked + redactParameters(rest[at:])
	case strings.ContainsAny(user, "/?"): // the @ belongs to a path or a parameter
		return redactParameters(rest)
	default:
		return masked + redactParameters(rest[at:])
	}
}

func redactParameters(rest string) string {
	path, query, found := strings.Cut(rest, "?")
	if !found {
		return path
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if key, _, ok := strings.Cut(pair, "="); ok && looksSecret(key) {
			pairs[i] = key + "=" + masked
		}
	}
	return path + "?" + strings.Join(pairs, "&")
}

// looksSecret tells whether the value of a property, header or URL parameter of this name should not be shown.
func looksSecret(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{
		"secret", "password", "passwd", "passphrase", "token", "credential", "auth", "cookie", "signature", "private",
		"sas", "connection-string", "apikey", "api-key", "api_key", "jsonkey",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "sig" || strings.HasSuffix(name, "key")
}

// looksURL tells whether the value of a property of this name is an address, which is shown without its secrets.
func looksURL(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "uri") || strings.HasSuffix(name, "url") || strings.HasSuffix(name, "endpoint")
}

// maskValues returns a copy of m fit to be shown.
func maskValues(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for name, value := range m {
		switch {
		case looksURL(name) || !looksSecret(name):
			out[name] = Redact(value)
		default:
			out[name] = mask(value)
		}
	}
	return out
}

func mask(secret string) string {
	if secret == "" {
		return ""
	}
	return masked
}
