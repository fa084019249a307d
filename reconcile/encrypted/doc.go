// Package encrypted reads passwords from encrypted files of the repository: files of age, and YAML files of SOPS with age keys.
//
// In order of use:
//
//   - Check returns why a password cannot be read, as far as that can be seen without the key: the format, the recipients, the key in the file.
//   - Identities parses the keys of the agent. Open decrypts one password with them.
//   - Both return an *Error with a remedy. No error contains any text of a file: a file that was committed unencrypted must not leak into a log.
//
// The files are untrusted. Their size, the size of a content, and the depth and number of YAML values are bounded. Passphrases are refused, since
// the file chooses how much work and memory trying one takes.
//
// SOPS encrypts each value of a file with AES-256-GCM under one key, the data key, and binds it to the path of its mapping keys. A hash over all values,
// the MAC, is encrypted with the time of the last change. The data key is encrypted with age for each recipient. sops.go reads the file, value.go decrypts a
// value, mac.go verifies the hash, age.go reads the envelope of age. See docs/adr/0026.
//
// The package knows neither manifests nor guests, reads no files and is pure. Start reading at Open.
package encrypted
