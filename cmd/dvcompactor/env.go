package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"golang.org/x/term"
)

// env is everything a command knows of the process it runs in.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	// isTerminal says whether a writer is a terminal, and width how many columns it has.
	isTerminal func(io.Writer) bool
	width      func(io.Writer) int
	build      build
}

// build says what the program was made of.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Modified bool   `json:"modified"` // the sources differed from the revision
	Go       string `json:"go"`
}

func processEnv() env {
	return env{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookupEnv: os.LookupEnv,
		isTerminal: func(w io.Writer) bool { f, ok := w.(*os.File); return ok && term.IsTerminal(int(f.Fd())) },
		width:      columns, build: readBuild(),
	}
}

func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// readBuild reads what the toolchain put into the binary.
func readBuild() build {
	b := build{Version: "devel"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Go = info.GoVersion
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// write prints the build for people.
func (b build) write(w io.Writer) error {
	text := "dvcompactor " + b.Version
	if b.Revision != "" {
		text += " (" + b.Revision
		if b.Modified {
			text += ", modified"
		}
		text += ")"
	}
	_, err := fmt.Fprintf(w, "%s %s\n", text, b.Go)
	return err
}
