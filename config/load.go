package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Load reads the configuration file at path. Mistakes in it are returned as [Errors].
func Load(path string, env LookupEnv) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(path, data, env)
}

// Parse reads a configuration. name stands for the file in the [Errors] that it returns.
func Parse(name string, data []byte, env LookupEnv) (*Config, error) {
	d := &decoder{file: name, env: env}
	var c *Config
	if root := d.document(data); root != nil {
		c = d.config(d.mapping(root, ""))
	}
	if len(d.errs) > 0 {
		return nil, d.errs.sorted()
	}
	return c, nil
}

// document returns the root node of the only document in data, or nil after reporting why there is none.
func (d *decoder) document(data []byte) *yaml.Node {
	reader := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	err := reader.Decode(&first)
	if errors.Is(err, io.EOF) || err == nil && len(first.Content) == 0 {
		d.fail(0, "", "is empty; a configuration starts with version: 1", "")
		return nil
	}
	if err != nil {
		d.syntax(err)
		return nil
	}
	if err := reader.Decode(&second); err == nil {
		d.fail(second.Line, "", "has a second YAML document; put everything into one", "")
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err)
	}
	return first.Content[0]
}

// syntax reports an error of the YAML parser.
func (d *decoder) syntax(err error) {
	line, reason := 0, strings.TrimPrefix(err.Error(), "yaml: ")
	if after, ok := strings.CutPrefix(reason, "line "); ok {
		if number, text, ok := strings.Cut(after, ": "); ok {
			line, _ = strconv.Atoi(number)
			reason = text
		}
	}
	if strings.HasPrefix(reason, "unknown anchor") { // its name may be a password that starts with *
		reason = "a value that starts with * refers to an anchor that does not exist; put the value in quotes"
	}
	d.fail(line, "", "is not YAML: "+reason, "")
}

func (d *decoder) config(root *mapping) *Config {
	c := &Config{Version: Version}
	if v := root.required("version", "write version: 1"); v.set && v.text != strconv.Itoa(Version) {
		root.fail("version", "is not a version that this build understands; write version: 1", v.shown())
	}
	c.Catalogs = d.catalogs(root)
	c.Storage = d.storage(root)
	c.Defaults = d.defaults(root.mapping("defaults"))
	c.Policies = d.policies(root, c.CatalogNames())
	c.Daemon = d.daemon(root.mapping("daemon"))
	root.finish()
	return c
}

func (d *decoder) storage(root *mapping) []Mount {
	var mounts []Mount
	lines := map[string]int{}
	for i, node := range root.list("storage") {
		m := d.mapping(node, fmt.Sprintf("storage[%d]", i))
		mount := d.mount(m)
		m.finish()
		prefix := strings.TrimSuffix(mount.Prefix, "/")
		if first, twice := lines[prefix]; twice && prefix != "" {
			m.fail("prefix", fmt.Sprintf("is mapped twice, first on line %d; keep one of them", first), "")
		}
		lines[prefix] = m.lineOf("prefix")
		mounts = append(mounts, mount)
	}
	return mounts
}

func (d *decoder) mount(m *mapping) Mount {
	prefix := m.required("prefix", "write the start of the locations, for instance s3://lake/")
	if prefix.set && !strings.Contains(prefix.text, ":/") && !strings.HasPrefix(prefix.text, "/") {
		m.fail("prefix", "is not the start of a location; write for instance s3://lake/ or file:///warehouse/", prefix.shown())
	}
	url := m.required("url", "write where the objects are, for instance file:///dir or s3://bucket?region=eu-west-1")
	if reason := checkStorageURL(url.text); url.set && reason != "" {
		m.fail("url", reason, url.shown())
	}
	return Mount{Prefix: prefix.text, URL: url.text}
}

func (d *decoder) defaults(m *mapping) Defaults {
	const mostThreads, mostAttempts = 1024, 1000
	otherwise := DefaultDefaults()
	out := Defaults{
		Memory:           m.size("memory", 16*MiB, otherwise.Memory),
		Parallelism:      m.integer("parallelism", 1, mostThreads, otherwise.Parallelism),
		TargetPuffinSize: m.size("target_puffin_size", 1, otherwise.TargetPuffinSize),
		CoolDown:         m.durationFrom(0, "cool_down", "must be a duration, for instance 15m, or 0s for none", otherwise.CoolDown),
	}
	retries := m.mapping("retries")
	out.Retries = Retries{
		RequestAttempts: retries.integer("request_attempts", 1, mostAttempts, otherwise.Retries.RequestAttempts),
		CommitAttempts:  retries.integer("commit_attempts", 1, mostAttempts, otherwise.Retries.CommitAttempts),
		BaseDelay:       retries.duration("base_delay", otherwise.Retries.BaseDelay),
		MaxDelay:        retries.duration("max_delay", otherwise.Retries.MaxDelay),
	}
	if out.Retries.MaxDelay < out.Retries.BaseDelay {
		retries.fail("max_delay", "is shorter than base_delay", out.Retries.MaxDelay.String()+" and "+out.Retries.BaseDelay.String())
	}
	retries.finish()
	m.finish()
	return out
}
