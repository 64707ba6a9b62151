"""From a Dockerfile or an archive to an image a machine can boot."""
