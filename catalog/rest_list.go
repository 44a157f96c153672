package catalog

import (
	"context"
	"fmt"
	"slices"
)

// listPage is how many names are asked for at once; the catalog may give fewer.
const listPage = 500

// List walks the namespaces. One that is dropped meanwhile is passed over.
func (c *restCatalog) List(ctx context.Context, namespace []string) ([][]string, error) {
	var out [][]string
	if len(namespace) > 0 {
		tables, err := c.tables(ctx, namespace)
		if notFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("listing %v in catalog %s: %w", namespace, c.options.Name, err)
		}
		out = tables
	}
	children, err := c.children(ctx, namespace)
	if err != nil && !notFound(err) {
		return nil, fmt.Errorf("namespaces below %v in catalog %s: %w", namespace, c.options.Name, err)
	}
	for _, child := range children {
		tables, err := c.List(ctx, child)
		if err != nil {
			return nil, err
		}
		out = append(out, tables...)
	}
	return out, nil
}

func (c *restCatalog) tables(ctx context.Context, namespace []string) (out [][]string, err error) {
	_, err = c.read(ctx, func(ctx context.Context) error {
		out = nil
		for id, err := range c.client.ListTables(c.client.SetPageSize(ctx, listPage), namespace) {
			if err != nil {
				return err
			}
			out = append(out, id)
		}
		return nil
	})
	return out, err
}

// children returns the namespaces one level below. A catalog that knows no levels may answer with the same namespaces
// whatever it is asked: what is not below is left out.
func (c *restCatalog) children(ctx context.Context, namespace []string) ([][]string, error) {
	var all [][]string
	_, err := c.read(ctx, func(ctx context.Context) (err error) {
		all, err = c.client.ListNamespaces(c.client.SetPageSize(ctx, listPage), namespace)
		return err
	})
	return slices.DeleteFunc(all, func(child []string) bool {
		n := len(namespace)
		return len(child) != n+1 || !slices.Equal(child[:n], namespace)
	}), err
}
