// Package gcs is a bucket on Google Cloud Storage.
//
// It uses Google's client and not the portable driver over it, which changes keys (line ends and "../"), takes a refused
// permission for a missing object, and leaves the repetition of conditional writes to the client: a write that was
// repeated by somebody else would meet its own first attempt and look like one that lost.
//
// Credentials are, in this order: none when gcs.no-auth is true; gcs.oauth2.token; gcs.jsonkey; the file gcs.keypath;
// none for an emulator that STORAGE_EMULATOR_HOST names; the application default credentials.
package gcs
