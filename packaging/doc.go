// Package packaging tests the files with which the agent is installed, with the programs that users have (tag integration).
//
//   - build makes the programs, the packages, the APT repository, the image, the lists of modules, and checksums with a signature.
//   - nfpm.yaml lists what the packages contain; scripts has what dpkg and rpm run.
//   - systemd/gitops-agent.service is the unit.
//   - image has the files of the image that are not built. The last stage of the Dockerfile describes the image.
//   - tools is the module of the programs that make images, indexes for APT and signatures.
package packaging
