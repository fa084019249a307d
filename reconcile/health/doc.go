// Package health finds out whether guests are ready: whether the checks in spec.health of their manifests pass.
//
//   - Allow is which addresses the config of the host lets manifests check. It is pure.
//   - Result is the outcome of one check, and judges how long it counts. It is pure.
//   - Prober runs checks beside the engine, which never waits for them.
//
// Manifests are written by many people, so a check reaches only what Allow lists. A name is resolved once, its addresses are compared with Allow, and the
// connection goes to one of these addresses. A check sends no credentials, follows no redirect and uses no proxy. Only the answer to a Query is read, up to a bound.
package health
