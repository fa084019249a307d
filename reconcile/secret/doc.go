// Package secret reads the contents of secrets, and keeps them out of plans, journals and messages.
//
// A manifest names a secret and never contains it; see docs/adr/0010-secrets-by-name.md. The types in the order of use:
//
//   - Source reads the content of a named secret.
//   - Vault.States returns, for each Place (a key of a guest), a State: a fingerprint of the content, and the form of the password. A plan
//     compares the fingerprint with GivenFingerprints, the fingerprints of the secrets that were sent last.
//   - CheckUse returns why a guest cannot use a secret, for example a hash for Windows.
//   - Vault.Fill puts the contents into copies of a step's calls just before they are sent. Package
//     internal/proxmox shows only known texts of Proxmox about them.
//
// Invariants:
//
//   - Only a FilledCall contains the content of a secret.
//   - The same content in the same Place gives the same text for Proxmox, so sending a secret again changes nothing.
//   - A fingerprint is useless without Source.Key, and even with it a guess costs as much as a guess against the hash.
//
// crypt.go implements SHA-512-crypt. Start reading at Vault.
package secret
