package storage_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// withoutVersions is a property of every store: S3 has one version without a name, the others cannot be asked.
func withoutVersions(t *testing.T, s *storage.Store, base string) {
	write(t, s, base+"x", []byte("content"))
	got, err := s.Versions(t.Context(), base+"x")
	if errors.Is(err, storage.ErrNoVersions) {
		if _, err := s.ObjectVersion(base+"x", storage.Version{ID: "1", Size: 7}).ReadRange(t.Context(), 0, 7); !errors.Is(err, storage.ErrNoVersions) {
			t.Errorf("read: got %v", err)
		}
		if _, err := s.ObjectVersion(base+"x", storage.Version{ID: "1"}).Size(t.Context()); !errors.Is(err, storage.ErrNoVersions) {
			t.Errorf("size: got %v", err)
		}
		return
	}
	if err != nil || len(got) != 1 || got[0].ID != "null" || got[0].Size != 7 || !got[0].Current {
		t.Fatalf("got %+v, %v", got, err)
	}
	wantVersion(t, s, base+"x", got[0], "content")
	if got, err := s.Versions(t.Context(), base+"none"); len(got) != 0 || err != nil {
		t.Errorf("of no object: %v, %v", got, err)
	}
}

func wantVersion(t *testing.T, s *storage.Store, location string, v storage.Version, want string) {
	t.Helper()
	o := s.ObjectVersion(location, v)
	if size, err := o.Size(t.Context()); err != nil || size != int64(len(want)) {
		t.Errorf("size of %s %s: %d, %v", location, v.ID, size, err)
	}
	got, err := o.ReadRange(t.Context(), 1, int64(len(want))-1)
	if string(got) != want[1:] || err != nil {
		t.Errorf("%s %s: got %q, want %q, %v", location, v.ID, got, want[1:], err)
	}
	p := make([]byte, len(want))
	if n, err := o.ReaderAt(t.Context()).ReadAt(p, 0); n != len(want) || string(p) != want || err != nil {
		t.Errorf("%s %s: read %q, %v", location, v.ID, p[:n], err)
	}
}

// versioned is a store on a bucket that keeps versions.
func versioned(t *testing.T) (*s3Lab, *storage.Store) {
	lab := newS3Lab(t)
	lab.KeepVersions(t, "lake")
	return lab, openMounted(t, strings.Replace(lab.MountURL("lake"), "?", "/some dir?", 1))
}

func TestWhatWasReplacedAndRemovedIsFoundNewestFirst(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"a", "a/b", "a+b", "a b", "a%20b", "a%2Fb", "ü/日本", "tab\there", "a?versionId=1&b", "a#b", "<a>&amp;", "..a", "quote\"'",
	} {
		_, s := versioned(t)
		location := "s3://lake/" + key
		write(t, s, location+"/other", []byte("not this one"))
		write(t, s, location+"0", []byte("nor this"))
		for _, content := range []string{"one", "the second", "3rd"} {
			write(t, s, location, []byte(content))
		}
		got, err := s.Versions(t.Context(), location)
		if err != nil || len(got) != 3 || !got[0].Current || got[1].Current || got[2].Current {
			t.Fatalf("%q: got %+v, %v", key, got, err)
		}
		if err := s.Remove(t.Context(), location); err != nil {
			t.Fatal(err)
		}
		removed, err := s.Versions(t.Context(), location)
		if err != nil || len(removed) != 3 || slices.ContainsFunc(removed, func(v storage.Version) bool { return v.Current }) {
			t.Fatalf("%q removed: got %+v, %v", key, removed, err)
		}
		for i, content := range []string{"3rd", "the second", "one"} {
			if removed[i].ID != got[i].ID || removed[i].Size != int64(len(content)) || removed[i].Time.IsZero() {
				t.Errorf("%q: version %d is %+v", key, i, removed[i])
			}
			wantVersion(t, s, location, removed[i], content)
		}
		wantAbsent(t, s, location)
	}
}

func TestVersionsCostOneRequestAndSoDoesARangeOfOne(t *testing.T) {
	t.Parallel()
	_, s := versioned(t)
	write(t, s, "s3://lake/x", []byte("old"))
	write(t, s, "s3://lake/x", []byte("new one"))
	var got []storage.Version
	cost(t, s, storage.Stats{Lists: 1}, func() {
		var err error
		if got, err = s.Versions(t.Context(), "s3://lake/x"); err != nil {
			t.Fatal(err)
		}
	})
	o := s.ObjectVersion("s3://lake/x", got[1])
	cost(t, s, storage.Stats{RangeGets: 1}, func() {
		size, err1 := o.Size(t.Context())
		data, err2 := o.ReadRange(t.Context(), 0, size)
		if string(data) != "old" || err1 != nil || err2 != nil {
			t.Errorf("got %q, %v, %v", data, err1, err2)
		}
	})
	cost(t, s, storage.Stats{Heads: 1}, func() {
		if size, err := s.ObjectVersion("s3://lake/x", storage.Version{ID: got[1].ID}).Size(t.Context()); size != 3 || err != nil {
			t.Errorf("got %d, %v", size, err)
		}
	})
}

func TestAVersionThatIsGoneDoesNotExist(t *testing.T) {
	t.Parallel()
	_, s := versioned(t)
	write(t, s, "s3://lake/x", []byte("content"))
	cost(t, s, storage.Stats{RangeGets: 1, Failures: 1}, func() {
		_, err := s.ObjectVersion("s3://lake/x", storage.Version{ID: "3/60O30C1G60O30C1G60O30C1G60O30C1G60O30C1G", Size: 7}).ReadRange(t.Context(), 0, 7)
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "version 3/60O") {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheContentOfAnotherVersionIsNotTaken(t *testing.T) {
	t.Parallel()
	lab, s := versioned(t)
	write(t, s, "s3://lake/x", []byte("old"))
	write(t, s, "s3://lake/x", []byte("new"))
	versions, err := s.Versions(t.Context(), "s3://lake/x")
	if err != nil {
		t.Fatal(err)
	}
	lab.Use(func(healthy http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // a store that does not know versionId
			r.URL.RawQuery = ""
			r.RequestURI = r.URL.RequestURI()
			healthy.ServeHTTP(w, r)
		})
	})
	old := storage.Version{ID: versions[1].ID}
	if data, err := s.ObjectVersion("s3://lake/x", old).ReadRange(t.Context(), 0, 3); !errors.Is(err, storage.ErrWrongReply) {
		t.Errorf("read %q, %v", data, err)
	}
	if size, err := s.ObjectVersion("s3://lake/x", old).Size(t.Context()); !errors.Is(err, storage.ErrWrongReply) {
		t.Errorf("size %d, %v", size, err)
	}
}

func TestAStoreThatDoesNotKnowTheRequestHasNoVersions(t *testing.T) {
	t.Parallel()
	for code, name := range map[int]string{http.StatusNotImplemented: "NotImplemented", http.StatusMethodNotAllowed: "MethodNotAllowed"} {
		lab, s := versioned(t)
		lab.breakWith(first(9, status(code, name)))
		cost(t, s, storage.Stats{Lists: 1, Failures: 1}, func() {
			if _, err := s.Versions(t.Context(), "s3://lake/x"); !errors.Is(err, storage.ErrNoVersions) {
				t.Errorf("%s: got %v", name, err)
			}
		})
	}
}

func TestVersionsAreAskedForAgainAfterAFault(t *testing.T) {
	t.Parallel()
	lab, s := versioned(t)
	write(t, s, "s3://lake/x", []byte("content"))
	lab.breakWith(first(2, status(http.StatusServiceUnavailable, "SlowDown")))
	cost(t, s, storage.Stats{Lists: 3, Retries: 2, Failures: 2}, func() {
		if got, err := s.Versions(t.Context(), "s3://lake/x"); len(got) != 1 || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestATableMayNotAskForVersionsOfWhatItMayNotName(t *testing.T) {
	t.Parallel()
	s := open(t, storage.Options{})
	table := s.ForTable("db.t", "s3://lake/t/metadata/v1.metadata.json")
	if _, err := table.Versions(t.Context(), "/etc/passwd"); !errors.Is(err, storage.ErrRefusedLocation) {
		t.Errorf("got %v", err)
	}
	if _, err := table.ObjectVersion("/etc/passwd", storage.Version{ID: "1"}).ReadRange(t.Context(), 0, 1); !errors.Is(err, storage.ErrRefusedLocation) {
		t.Errorf("got %v", err)
	}
}

// The following are answers as S3 gives them, for what the server of the tests cannot do: keys that XML cannot hold,
// and pages.
type (
	listedVersion struct {
		Key, VersionId, LastModified string
		Size                         int
	}
	versionsPage struct {
		XMLName                            xml.Name `xml:"ListVersionsResult"`
		EncodingType                       string   `xml:",omitempty"`
		IsTruncated                        bool
		NextKeyMarker, NextVersionIdMarker string `xml:",omitempty"`
		Version, DeleteMarker              []listedVersion
	}
)

func entryOf(key string, n int) listedVersion {
	return listedVersion{Key: key, VersionId: fmt.Sprint("v", n), LastModified: fmt.Sprintf("2026-01-01T00:00:%02d.000Z", n), Size: n}
}

// listsPages answers with one page after the other.
func listsPages(t *testing.T, pages ...versionsPage) (*s3Lab, *storage.Store) {
	lab := newS3Lab(t)
	var faults []fault
	for _, p := range pages {
		faults = append(faults, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", "application/xml")
			_ = xml.NewEncoder(w).Encode(p)
		})
	}
	lab.breakWith(sequence(faults...))
	return lab, openMounted(t, lab.MountURL("lake"))
}

func TestVersionsOnManyPagesAreAllFound(t *testing.T) {
	t.Parallel()
	const key, encoded = "a+b \x01/ü", "a%2Bb+%01/%C3%BC"
	lab, s := listsPages(t,
		versionsPage{EncodingType: "url", IsTruncated: true, NextKeyMarker: encoded, NextVersionIdMarker: "v/ 8",
			Version: []listedVersion{entryOf(encoded, 9)}, DeleteMarker: []listedVersion{entryOf(encoded, 8)}},
		versionsPage{EncodingType: "url", IsTruncated: true, NextKeyMarker: encoded, NextVersionIdMarker: "v7",
			DeleteMarker: []listedVersion{entryOf(encoded, 7)}},
		versionsPage{EncodingType: "url", IsTruncated: true, NextKeyMarker: encoded + "x", NextVersionIdMarker: "v5",
			Version: []listedVersion{entryOf(encoded, 6), entryOf(encoded+"x", 5)}},
	)
	got, err := s.Versions(t.Context(), "s3://lake/"+key)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, v := range got {
		ids = append(ids, v.ID)
	}
	if !slices.Equal(ids, []string{"v9", "v6"}) {
		t.Errorf("got %v", ids)
	}
	var asked []string
	for _, r := range lab.Take() {
		q, err := url.ParseQuery(r.Query)
		if err != nil || q.Get("prefix") != key || q.Get("encoding-type") != "url" {
			t.Errorf("asked %v, %v", q, err)
		}
		asked = append(asked, q.Get("key-marker")+"|"+q.Get("version-id-marker"))
	}
	if want := []string{"|", key + "|v/ 8", key + "|v7"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

func TestAPageThatEndsWithAnotherKeyIsTheLast(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]versionsPage{
		"another version":       {IsTruncated: true, Version: []listedVersion{entryOf("x", 2), entryOf("x/y", 1)}},
		"another delete marker": {IsTruncated: true, Version: []listedVersion{entryOf("x", 2)}, DeleteMarker: []listedVersion{entryOf("x/y", 1)}},
		"another next key":      {IsTruncated: true, NextKeyMarker: "x/y", NextVersionIdMarker: "v1", Version: []listedVersion{entryOf("x", 2)}},
		"nothing follows":       {NextKeyMarker: "x", NextVersionIdMarker: "v1", Version: []listedVersion{entryOf("x", 2)}},
	} {
		lab, s := listsPages(t, page)
		if got, err := s.Versions(t.Context(), "s3://lake/x"); len(got) != 1 || err != nil {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		if n := len(lab.Take()); n != 1 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}

func TestPagesThatLeadNowhereAreAWrongReply(t *testing.T) {
	t.Parallel()
	again := versionsPage{IsTruncated: true, NextKeyMarker: "x", NextVersionIdMarker: "v2", Version: []listedVersion{entryOf("x", 2)}}
	for name, page := range map[string]versionsPage{
		"the same again":     again,
		"no next version id": {IsTruncated: true, NextKeyMarker: "x", Version: []listedVersion{entryOf("x", 2)}},
		"no next key":        {IsTruncated: true, NextVersionIdMarker: "v1", Version: []listedVersion{entryOf("x", 2)}},
	} {
		_, s := listsPages(t, slices.Repeat([]versionsPage{page}, 9)...)
		if got, err := s.Versions(t.Context(), "s3://lake/x"); !errors.Is(err, storage.ErrWrongReply) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}
