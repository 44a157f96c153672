//go:build !noglue

package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/glue"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"
	"github.com/aws/smithy-go"
	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// glueCatalog keeps its pointers in the parameters of tables in the AWS Glue Data Catalog, as Java's GlueCatalog does. A
// commit is one UpdateTable with the VersionId of the table as it was read: Glue refuses it when there is a newer one.
//
// It is our own instead of iceberg-go's because that one repeats a commit whose reply was lost, reports a lost race as a
// plain error, and loses metadata fields and table settings that it does not know.
type glueCatalog struct {
	pointed
	client    *glue.Client
	id        *string // of the Data Catalog; nil for that of the account
	options   Options
	transport *http.Transport
	archive   bool // Glue keeps the versions that a commit replaces
}

func openGlue(ctx context.Context, o Options) (Closer, error) {
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	cfg, err := glueConfig(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", o.Name, err)
	}
	properties := maps.Clone(o.Properties)
	if properties == nil {
		properties = map[string]string{}
	}
	if properties["s3.region"] == "" && properties["client.region"] == "" {
		properties["client.region"] = cfg.Region // the tables are where the catalog is, unless it is said otherwise
	}
	store, err := storage.Open(ctx, storage.Options{Mounts: o.Mounts, Properties: properties, Retry: o.Retry, Observe: o.Observe})
	if err != nil {
		return nil, err
	}
	c := &glueCatalog{pointed: pointed{name: o.Name, store: store}, options: o, transport: glueTransport(cfg), archive: o.Properties["glue.skip-archive"] == "false"}
	c.client = glue.NewFromConfig(cfg, func(g *glue.Options) {
		g.HTTPClient = &http.Client{
			Transport:     &tracingTransport{next: c.transport, retry: o.Retry, signed: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a commit would become a GET
		}
	})
	if id := o.Properties["glue.id"]; id != "" {
		c.id = &id
	}
	c.pointers = &gluePointers{c}
	return c, nil
}

// glueConfig takes the names of properties that Java and iceberg-go have, and the rest from the environment.
func glueConfig(ctx context.Context, o Options) (aws.Config, error) {
	opts := []func(*config.LoadOptions) error{config.WithRetryer(func() aws.Retryer {
		return retry.NewStandard(func(s *retry.StandardOptions) {
			s.MaxAttempts, s.MaxBackoff = cmp.Or(o.Retry.Attempts, s.MaxAttempts), cmp.Or(o.Retry.MaxDelay, s.MaxBackoff)
		})
	})}
	if region := cmp.Or(o.Properties["glue.region"], o.Properties["client.region"]); region != "" {
		opts = append(opts, config.WithRegion(region))
	}
	if endpoint := cmp.Or(o.URI, o.Properties["glue.endpoint"]); endpoint != "" {
		opts = append(opts, config.WithBaseEndpoint(endpoint))
	}
	if key := o.Properties["glue.access-key-id"]; key != "" {
		provider := credentials.NewStaticCredentialsProvider(key, o.Properties["glue.secret-access-key"], o.Properties["glue.session-token"])
		opts = append(opts, config.WithCredentialsProvider(provider))
	}
	cfg, err := config.LoadDefaultConfig(ctx, opts...)
	if err == nil && cfg.Region == "" {
		err = errors.New("no AWS region: set the property glue.region, or AWS_REGION")
	}
	return cfg, err
}

// glueTransport is the one that the environment describes, with the certificates of AWS_CA_BUNDLE.
func glueTransport(cfg aws.Config) *http.Transport {
	if b, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		return b.GetTransport()
	}
	return http.DefaultTransport.(*http.Transport).Clone()
}

// Commits implements [Closer].
func (c *glueCatalog) Commits() string { return "UpdateTable with the VersionId that was read" }

// Close ends the connections.
func (c *glueCatalog) Close() error {
	c.transport.CloseIdleConnections()
	return c.store.Close()
}

// call lets do talk to Glue within the time of a request and says how the exchange went.
func (c *glueCatalog) call(ctx context.Context, do func(context.Context) error) (*exchange, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	x := &exchange{}
	return x, do(context.WithValue(ctx, exchangeKey{}, x))
}

// List returns the Iceberg tables. Glue has one level of namespaces, its databases.
func (c *glueCatalog) List(ctx context.Context, namespace []string) (out [][]string, err error) {
	if len(namespace) > 1 {
		return nil, nil
	}
	databases := namespace
	if len(namespace) == 0 {
		databases, err = c.databases(ctx)
	}
	for i := 0; i < len(databases) && err == nil; i++ {
		var tables [][]string
		tables, err = c.tables(ctx, databases[i])
		out = append(out, tables...)
	}
	if err != nil {
		return nil, fmt.Errorf("listing catalog %s: %w", c.name, err)
	}
	return out, nil
}

func (c *glueCatalog) databases(ctx context.Context) (out []string, err error) {
	pages := glue.NewGetDatabasesPaginator(c.client, &glue.GetDatabasesInput{CatalogId: c.id})
	for pages.HasMorePages() {
		_, err := c.call(ctx, func(ctx context.Context) error {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return err
			}
			for _, d := range page.DatabaseList {
				out = append(out, aws.ToString(d.Name))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// tables returns those of a database; none when it was dropped meanwhile.
func (c *glueCatalog) tables(ctx context.Context, database string) (out [][]string, err error) {
	pages := glue.NewGetTablesPaginator(c.client, &glue.GetTablesInput{CatalogId: c.id, DatabaseName: &database})
	for pages.HasMorePages() {
		_, err := c.call(ctx, func(ctx context.Context) error {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return err
			}
			for _, t := range page.TableList {
				if isIceberg(t.Parameters) {
					out = append(out, []string{database, aws.ToString(t.Name)})
				}
			}
			return nil
		})
		var gone *types.EntityNotFoundException
		if errors.As(err, &gone) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func isIceberg(parameters map[string]string) bool {
	return strings.EqualFold(parameters["table_type"], "ICEBERG")
}

// gluePointers are the parameters of the tables.
type gluePointers struct{ *glueCatalog }

// read asks for the table. Glue knows names in small letters only and finds them in any spelling.
func (c *gluePointers) read(ctx context.Context, identifier []string) (pointer, error) {
	if len(identifier) != 2 {
		return pointer{}, fmt.Errorf("%w: Glue has one level of namespaces", ErrNotFound)
	}
	var reply *glue.GetTableOutput
	_, err := c.call(ctx, func(ctx context.Context) (err error) {
		reply, err = c.client.GetTable(ctx, &glue.GetTableInput{CatalogId: c.id, DatabaseName: &identifier[0], Name: &identifier[1]})
		return err
	})
	var gone *types.EntityNotFoundException
	switch {
	case errors.As(err, &gone):
		return pointer{}, ErrNotFound
	case err != nil:
		return pointer{}, err
	case reply.Table == nil || aws.ToString(reply.Table.Name) != identifier[1]:
		return pointer{}, fmt.Errorf("%w: Glue answers with another one", ErrNotFound)
	case !isIceberg(reply.Table.Parameters):
		return pointer{}, fmt.Errorf("%w: it is not an Iceberg table", ErrNotFound)
	}
	return pointer{identifier: identifier, location: reply.Table.Parameters["metadata_location"], entry: reply.Table}, nil
}

// swing updates the table if its version is still the one that was read. It is sent once.
func (c *gluePointers) swing(ctx context.Context, from pointer, to written) (outcome, err error) {
	t := from.entry.(*types.Table)
	if aws.ToString(t.VersionId) == "" {
		return ErrRefused, errors.New("the catalog gives the table no VersionId, so that a commit could undo that of another writer")
	}
	input := glueInput(t)
	input.Parameters["previous_metadata_location"], input.Parameters["metadata_location"] = from.location, to.location
	x, err := c.call(ctx, func(ctx context.Context) error {
		_, err := c.client.UpdateTable(ctx, &glue.UpdateTableInput{
			CatalogId: c.id, DatabaseName: &from.identifier[0], TableInput: input, VersionId: t.VersionId, SkipArchive: aws.Bool(!c.archive),
		}, func(o *glue.Options) { o.Retryer = aws.NopRetryer{} })
		return err
	})
	if err == nil {
		return nil, nil
	}
	return glueOutcome(x, err), err
}

// glueInput is the table as it is, in the form in which Glue takes it back.
func glueInput(t *types.Table) *types.TableInput {
	parameters := maps.Clone(t.Parameters)
	return &types.TableInput{
		Name: t.Name, Description: t.Description, Owner: t.Owner, Retention: t.Retention, LastAccessTime: t.LastAccessTime, LastAnalyzedTime: t.LastAnalyzedTime,
		Parameters: parameters, PartitionKeys: t.PartitionKeys, StorageDescriptor: t.StorageDescriptor, TableType: t.TableType, TargetTable: t.TargetTable,
		ViewExpandedText: t.ViewExpandedText, ViewOriginalText: t.ViewOriginalText,
	}
}

// glueOutcome classifies a failed commit. Only what is certain not to have happened is called a conflict or refused.
func glueOutcome(x *exchange, err error) error {
	var reply smithy.APIError
	code := x.status.Load()
	switch {
	case code == 0 && !x.sent.Load():
		return glueUnsent(err)
	case code < 400 || code >= 500 || code == http.StatusRequestTimeout || !errors.As(err, &reply):
		return ErrUnknown
	}
	switch reply.ErrorCode() {
	case "ConcurrentModificationException", "ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded", "ResourceNotReadyException":
		return ErrConflict
	case "OperationTimeoutException", "InternalServiceException", "InternalFailure", "FederationSourceException", "FederationSourceRetryableException":
		return ErrUnknown // with status 400, but it says nothing of what was done
	}
	if lostRace(err) || code == http.StatusTooManyRequests {
		return ErrConflict
	}
	return ErrRefused
}

// glueUnsent classifies a request that never had a connection: Glue is not reachable, or there was nothing to sign with.
func glueUnsent(err error) error {
	var network net.Error
	if errors.As(err, &network) && !errors.Is(err, context.Canceled) {
		return ErrConflict
	}
	return ErrRefused
}

// untouched classifies a failure to read the table.
func (c *gluePointers) untouched(err error) error {
	var reply smithy.APIError
	var network net.Error
	switch {
	case errors.As(err, &reply):
		switch reply.ErrorCode() {
		case "AccessDeniedException", "InvalidInputException", "UnrecognizedClientException", "InvalidSignatureException", "GlueEncryptionException":
			return ErrRefused
		}
		return ErrConflict
	case errors.As(err, &network):
		return ErrConflict
	}
	return ErrRefused
}
