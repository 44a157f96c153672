package deploy

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the image does is tried by image-check, which takes its time.
func TestTheImageIsBuiltWithTheGoOfTheModule(t *testing.T) {
	t.Parallel()
	image := regexp.MustCompile(`FROM .*golang:(\S+)`).FindStringSubmatch(read(t, "../Dockerfile"))
	module := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "../go.mod"))
	require.NotNil(t, image)
	require.NotNil(t, module)
	require.Equal(t, module[1], image[1])
}
