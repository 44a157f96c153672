// Command kubecheck reads Kubernetes manifests from standard input and decodes each strictly with the types of its API: a field that
// does not exist, is given twice, or has a value of the wrong type is an error. It is a module of its own, so that the program does not
// depend on Kubernetes.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	n, err := check(os.Stdin)
	if err == nil && n == 0 {
		err = errors.New("no manifest")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d manifests are valid\n", n)
}

// check returns how many manifests there are, and what is wrong with any of them.
func check(in io.Reader) (int, error) {
	types := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(types), monitoring.AddToScheme(types)); err != nil {
		return 0, err
	}
	decoder := serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewYAMLReader(bufio.NewReader(in))
	var errs []error
	for n := 0; ; {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return n, errors.Join(errs...)
		}
		if err != nil {
			return n, err
		}
		if content, err := yaml.ToJSON(text); err == nil && string(content) == "null" {
			continue // nothing but comments
		}
		n++
		if _, kind, err := decoder.Decode(text, nil, nil); err != nil {
			errs = append(errs, fmt.Errorf("manifest %d, %v: %w", n, kind, err))
		}
	}
}
