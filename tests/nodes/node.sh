#!/bin/sh
# One node's life inside its own mount, UTS and PID namespace. Called by node.py:
#   node.sh NAME TREE HOME
# HOME holds upper/, work/, merged/ and kernel/ (files that stand in for ones of /proc and /sys).
set -eu
name=$1 tree=$2 home=$3
at=$home/merged

mount -t overlay overlay -o "lowerdir=$tree,upperdir=$home/upper,workdir=$home/work" "$at"
mount -t proc proc "$at/proc"
mount --bind /dev "$at/dev"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$at/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$at/dev/shm"
mount -t tmpfs -o mode=0755 tmpfs "$at/run"
mount -t tmpfs -o mode=1777 tmpfs "$at/tmp"
mkdir -p "$at/run/sshd" "$at/run/lock"

# /sys is the machine's own, or wholly the node's where it brings files for it.
if [ -d "$home/kernel/sys" ]; then
  mount --bind "$home/kernel/sys" "$at/sys"
else
  mount -t sysfs -o ro sysfs "$at/sys"
fi
# procfs makes no new files: a directory of drivers is laid over the real one, other files one by one.
if [ -d "$home/kernel/proc/driver" ]; then
  mount --bind "$home/kernel/proc/driver" "$at/proc/driver"
fi
if [ -d "$home/kernel/proc" ]; then
  (cd "$home/kernel/proc" && find . -path ./driver -prune -o -type f -print) | while read -r file; do
    mount --bind "$home/kernel/proc/$file" "$at/proc/$file"
  done
fi

hostname "$name"
exec chroot "$at" /usr/sbin/sshd -D -e
