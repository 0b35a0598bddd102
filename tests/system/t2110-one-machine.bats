#!/usr/bin/env bats
# Several launchers of one job on one machine, with the same command line.

load helpers
load launcher
load lab

setup() {
  begin_test
  ENDPOINT=127.0.0.1:$(free_port)
}

@test "who is not the head leaves the head's file of events alone" {
  member a 0 0 2 -n 1 --events events.json true
  eventually 60 test -s events.json
  member b 0 1 2 -n 1 --events events.json true
  ended a
  expect_status 0
  ended b
  expect_status 0
  [[ $(head -n 1 events.json) == *'"type":"job"'* ]]
}
