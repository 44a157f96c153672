//go:build noglue

package catalog

import (
	"context"
	"fmt"
)

func openGlue(_ context.Context, o Options) (Closer, error) {
	return nil, fmt.Errorf("catalog %s: this program was built without AWS Glue (-tags noglue); use the one that is released, or build it without the tag", o.Name)
}
