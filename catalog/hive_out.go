//go:build nohive

package catalog

import (
	"context"
	"fmt"
)

func openHive(_ context.Context, o Options) (Closer, error) {
	return nil, fmt.Errorf("catalog %s: this program was built without the Hive Metastore (-tags nohive); use the one that is released, or build it without the tag", o.Name)
}
