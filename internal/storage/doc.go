// Package storage moves bytes between table locations and object stores.
//
// # Locations
//
// A location is what table metadata says: s3://lake/db/t/metadata/x.avro, file:/warehouse/t/a.parquet, /warehouse/t/a.
// It is cut into a store and a key, and the key is used byte for byte: nothing is decoded, cleaned or escaped.
//
//  1. The longest matching [Mount] prefix wins; the rest of the location is the key.
//  2. file:///p, file://localhost/p, file:/p and /p are local files.
//  3. For another scheme://authority/key the store comes from [Options].Fallback, then from [Options].Openers and
//     [Options].Properties. s3, s3a and s3n, gs, and abfs, abfss, wasb and wasbs are known without an opener.
//
// What a table's metadata names is not trusted: [Store.ForTable] gives the store that such locations are for,
// [TableRoot] and [WriteDir] say where a table's files may be written.
//
// # Requests
//
// Every call is as cheap as it can be and says so: ReadRange is one ranged GET, ReadFile one GET, Size one HEAD,
// WriteFile one PUT, Remove one DELETE, Versions one LIST. Nothing checks for existence first. A failed attempt is repeated with growing,
// jittered pauses when the failure can pass; see [RetryOptions].
//
// The bytes of a ranged read are handed out only when the reply is the range that was asked for: a store or proxy that
// ignores the Range header, answers with another range or breaks off gives an error and never wrong bytes.
//
// # Stores
//
// All stores are gocloud buckets. Those on Google Cloud Storage and Azure have drivers of our own, which the build tags
// nogcs and noazure leave out. S3 buckets give access to their client, which is used directly where the bucket would
// send more requests than needed or change the key (the portable layer escapes control characters and "../"). A bucket
// that hides the client is used through the portable interface only.
//
// # Errors
//
// Every error is an [*Error] that carries operation, location and range. What kind it is can be tested with errors.Is:
// fs.ErrNotExist, [ErrExists], [ErrPermission], [ErrBeyondEnd], [ErrWrongReply], [ErrInvalidLocation],
// [ErrRefusedLocation], [ErrUnknownScheme], [ErrNoVersions], or the context's error. Anything else is a fault of the store or the network.
package storage
