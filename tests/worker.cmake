muster_unit_tests(worker worker)
