#!/bin/sh
# A worker of the chaos test: starts helpers, says its process id, and does what its first word says.
#   wait             until the file `go` is there, then exit 0
#   fail RANK CODE   the same, but that rank exits with CODE
#   write LINES      writes that many lines, then exit 0
# NAP is a program that sleeps and is called by a name of this job only.
"$NAP" 300 </dev/null >/dev/null 2>&1 &
setsid "$NAP" 300 </dev/null >/dev/null 2>&1 &
env -i setsid "$NAP" 300 </dev/null >/dev/null 2>&1 &
(setsid sh -c '"$NAP" 300 & :' </dev/null >/dev/null 2>&1 &)
echo $$ >"up.$RANK"
case $1 in
write)
  i=0
  while [ $i -lt "$2" ]; do
    echo "$RANK:0123456789012345678901234567890123456789012345678901234567890"
    i=$((i + 1))
  done
  exit 0
  ;;
esac
until [ -e go ]; do sleep 0.02; done
[ "$1" = fail ] && [ "$2" = "$RANK" ] && exit "$3"
[ "$1" = fail ] && exec "$NAP" 300
exit 0
