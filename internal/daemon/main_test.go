package daemon

import (
	"os"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake"
)

func TestMain(m *testing.M) { os.Exit(testlake.Main(m)) }
