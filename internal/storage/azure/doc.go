// Package azure is a bucket on Azure Blob Storage, which Azure Data Lake Storage is too.
//
// It uses Azure's client and not the portable driver over it, for that one changes keys: it writes a percent sign, which
// every partition value with a special character brings along, in a way of its own, so that the files of other writers
// are not found. It also panics when a conditional write is refused (gocloud.dev v0.47.0).
//
// A location is abfss://container@account.dfs.core.windows.net/key, with abfs, wasb or wasbs in place of abfss.
//
// Credentials are, in this order: the properties adls.auth.shared-key.account.name and .key;
// adls.sas-token.<host or account>; adls.token; adls.connection-string.<host or account>; adls.tenant-id, adls.client-id
// and adls.client-secret; adls.auth.managed-identity.enabled; then the environment: AZURE_STORAGE_KEY,
// AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING, when AZURE_STORAGE_ACCOUNT names the same account or none;
// then Azure's default chain of environment, workload identity, managed identity and command line.
package azure
