package catalog_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// It is not parallel: the SDK reads the keys from the environment.
func TestRequestsAreSignedWithSigV4WhenAskedFor(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
	t.Setenv("AWS_SESSION_TOKEN", "")
	s := restcatalog.New(t, restcatalog.Options{})
	l := &lab{dir: t.TempDir(), rest: s, put: s.Put, options: catalog.Options{Name: catalogName, Type: "rest", URI: s.URL, SigV4: true, SigV4Region: "eu-north-1", SigV4Name: "glue"}}
	l.create(t, nil, "db", "t x")
	var wrong []string
	s.Use(func(healthy http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got, want := r.Header.Get("Authorization"), signature(t, r); got != want || !strings.Contains(got, "/eu-north-1/glue/aws4_request") {
				wrong = append(wrong, got+" is not "+want)
			}
			healthy.ServeHTTP(w, r)
		})
	})
	c := l.open(t)
	require.NoError(t, commit(t, c, load(t, c, "db", "t x"), "main", 1))
	_, err := c.List(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, wrong)
}

// signature is what the header of a request has to be, from the headers that it says it signs.
func signature(t *testing.T, r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	sum := sha256.Sum256(body)
	again := r.Clone(r.Context())
	again.URL.Scheme, again.URL.Host, again.ContentLength = "http", r.Host, int64(len(body))
	_, list, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	list, _, _ = strings.Cut(list, ",")
	again.Header = http.Header{}
	for _, name := range strings.Split(list, ";") {
		if values := r.Header.Values(name); len(values) > 0 {
			again.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	require.NoError(t, err)
	require.NoError(t, v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "SECRET"}, again, hex.EncodeToString(sum[:]), "glue", "eu-north-1", at))
	return again.Header.Get("Authorization")
}

func TestConfiguredHeadersComeWithEveryRequestAlsoWithThoseForTokens(t *testing.T) {
	t.Parallel()
	l, s := faultyREST(t, catalog.Options{Headers: map[string]string{"X-Tenant": "blue"}})
	l.create(t, nil, "db", "t")
	var mu sync.Mutex
	seen := map[string]string{}
	s.Use(func(healthy http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			seen[r.Method+" "+r.URL.Path] = r.Header.Get("X-Tenant")
			mu.Unlock()
			healthy.ServeHTTP(w, r)
		})
	})
	c := l.open(t)
	require.NoError(t, commit(t, c, load(t, c, "db", "t"), "main", 1))
	assert.Equal(t, map[string]string{
		"POST /v1/oauth/tokens": "blue", "GET /v1/config": "blue",
		"GET /v1/some/prefix/namespaces/db/tables/t": "blue", "POST /v1/some/prefix/namespaces/db/tables/t": "blue",
	}, seen)
}

func TestACatalogThatAsksForAClientCertificateGetsIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := newAuthority(t, dir)
	pool := x509.NewCertPool()
	pool.AddCert(authority.certificate)
	server := authority.issue(t, "server")
	authority.issue(t, "client")
	s := restcatalog.New(t, restcatalog.Options{Credential: "id:secret", TLS: &tls.Config{
		Certificates: []tls.Certificate{server}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}})
	l := &lab{dir: dir, rest: s, put: s.Put}
	l.create(t, nil, "db", "t")
	file := func(name string) string { return filepath.Join(dir, name) }
	all := catalog.TLSOptions{CAFile: file("ca.pem"), CertFile: file("client.pem"), KeyFile: file("client.key")}
	for name, test := range map[string]struct {
		tls  catalog.TLSOptions
		want string
	}{
		"everything":                      {all, ""},
		"a server that is not verified":   {catalog.TLSOptions{InsecureSkipVerify: true, CertFile: all.CertFile, KeyFile: all.KeyFile}, ""},
		"no certificate of the client":    {catalog.TLSOptions{CAFile: all.CAFile}, "certificate"},
		"no certificate of the authority": {catalog.TLSOptions{CertFile: all.CertFile, KeyFile: all.KeyFile}, "unknown authority"},
		"a file that is not there":        {catalog.TLSOptions{CAFile: file("none")}, "tls.ca_file"},
		"a file that is something else":   {catalog.TLSOptions{CAFile: file("client.key")}, "no certificate in it"},
		"a key that is not there":         {catalog.TLSOptions{CertFile: all.CertFile, KeyFile: file("none")}, "tls.cert_file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := catalog.Options{Name: catalogName, Type: "rest", URI: s.URL, Credential: "id:secret", TLS: test.tls}
			c, err := catalog.Open(t.Context(), o)
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "lake.db.t", load(t, c, "db", "t").Name())
			assert.NoError(t, c.Close())
		})
	}
}

// certAuthority signs certificates for loopback and writes them to a folder.
type certAuthority struct {
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, dir string) *certAuthority {
	a := &certAuthority{dir: dir}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := template("authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	require.NoError(t, err)
	a.certificate, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.save(t, "ca.pem", "CERTIFICATE", der)
	return a
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
}

func (a *certAuthority) issue(t *testing.T, name string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, template(name), a.certificate, key.Public(), a.key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	a.save(t, name+".pem", "CERTIFICATE", der)
	a.save(t, name+".key", "PRIVATE KEY", secret)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *certAuthority) save(t *testing.T, name, kind string, der []byte) {
	require.NoError(t, os.WriteFile(filepath.Join(a.dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}
