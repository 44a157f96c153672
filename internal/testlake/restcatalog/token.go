package restcatalog

import (
	"fmt"
	"net/http"
	"strings"
)

// token is the OAuth2 endpoint for client credentials.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := strings.Cut(s.options.Credential, ":")
	if r.FormValue("grant_type") != "client_credentials" || r.FormValue("client_id") != id || r.FormValue("client_secret") != secret {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error": "invalid_client", "error_description": "unknown client or wrong secret"}`))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issued++
	token := fmt.Sprintf("token-%d", s.issued)
	s.tokens[token] = true
	reply(w, map[string]any{
		"access_token": token, "token_type": "bearer", "expires_in": int(s.options.TokenLifetime.Seconds()),
		"issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
	})
}

func (s *Server) authorized(r *http.Request) bool {
	if s.options.Credential == "" {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.EqualFold(scheme, "Bearer") && s.tokens[token]
}

// RevokeTokens makes every token invalid that was handed out.
func (s *Server) RevokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// TokensIssued returns how many tokens were handed out.
func (s *Server) TokensIssued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.issued
}
